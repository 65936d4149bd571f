package complete

import (
	_ "embed" // the scripts
)

//go:embed shardsh.bash
var bash string

//go:embed shardsh.zsh
var zsh string

//go:embed shardsh.fish
var fish string

// Shells returns the completion scripts by the name of the shell.
func Shells() map[string]string {
	return map[string]string{"bash": bash, "zsh": zsh, "fish": fish}
}
