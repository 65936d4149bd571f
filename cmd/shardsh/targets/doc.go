// Package targets reads the file that lists the clusters of a fleet, and selects some of them by their
// labels. The file contains no passwords, but names of password files.
package targets
