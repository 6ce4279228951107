"""What all packages stand on: errors, files, arrays, plug-ins, progress."""
