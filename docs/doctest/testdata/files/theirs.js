print(cat("data/region.txt").trim(), process.env.REGION);
