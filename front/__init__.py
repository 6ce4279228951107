"""What `import allusion_es` gives: functions to find, scan, index and evaluate from Python."""
