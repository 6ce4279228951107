"""The paper's experiments: tables, figures and the figures it printed."""
