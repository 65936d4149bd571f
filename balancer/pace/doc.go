// Package pace decides when the next move of a run may begin: inside a window, while the members of the
// cluster are not busy, after a pause, later after failures, and only until a limit is reached. It does
// not know the reasons for moves.
package pace
