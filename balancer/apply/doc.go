// Package apply carries a plan out on a cluster: step by step, each checked right
// before it against the cluster as it is then, and written down in a journal
// before it is sent. Whatever moment it is stopped or killed at, the journal is
// enough to go on, and to undo what was done.
//
// A step whose outcome the cluster shows already counts as done. That is what
// makes going on right when it is not known whether the last command was carried
// out: the journal says that it began, and the cluster says how it ended.
package apply
