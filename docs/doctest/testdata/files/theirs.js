try {
  print(cat("data/region.txt").trim(), process.env.REGION);
} catch (e) {
  print("no region: " + e.message);
}
