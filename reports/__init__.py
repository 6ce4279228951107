"""What people look at: heat maps, HTML pages, figures."""
