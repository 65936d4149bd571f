// Package pace says when the next move of an engine of ours may begin: inside a
// window, while the members of the cluster have time for it, after a pause, longer
// after failures, and only as long as no limit is reached. It knows nothing of
// what moves why.
package pace
