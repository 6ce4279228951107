"""The base of all packages: errors, files, arrays, plug-ins, processes, progress."""
