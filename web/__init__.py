"""Servers on this machine: who may speak to them, and their life."""
