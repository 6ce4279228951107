// The page that has nothing but figures.

at("title").textContent = data.title;
drawFigures(at("figures"), data.figures);
startTheme();
