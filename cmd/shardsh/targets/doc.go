// Package targets reads the file that lists the clusters of a fleet, and selects some of
// them by their labels. The file holds no passwords: it names files that do.
package targets
