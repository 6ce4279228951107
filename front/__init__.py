"""The Python interface, `import allusion_es`: functions to find, scan, index and evaluate."""
