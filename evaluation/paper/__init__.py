"""The experiments of the paper (Manjavacas, Long and Kestemont 2019), and its own figures."""
