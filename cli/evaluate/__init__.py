"""The command `allusion-es evaluate`."""
