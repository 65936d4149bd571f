// Package reads implements find, aggregate, count and distinct, their cursors, views, change streams,
// and the output stages $out and $merge.
package reads
