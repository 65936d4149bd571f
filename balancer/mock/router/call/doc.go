// Package call is what a command under way knows, whichever it is: its fields, its
// limits and concerns, its query, its cursor, its session, who sent it, and the node
// that it came to, with what that keeps from one command to the next. Rooms of commands
// are handed a Call and answer with fields; they meet nowhere else.
package call
