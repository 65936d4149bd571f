package main

import (
	"path/filepath"

	"shardsh/bindings/sandbox"
)

// rules returns what scripts may do on this machine; nil for everything. The scripts
// of the command line may be run, and the files beside them that they load; so may
// what the user keeps for all sessions.
func (o *shellFlags) rules() *sandbox.Rules {
	if !o.sandbox {
		return nil
	}
	rules := o.allow
	for _, file := range o.files {
		rules.Code = append(rules.Code, file)
		if path, err := filepath.Abs(file); err == nil && file != "/dev/stdin" {
			rules.Code = append(rules.Code, filepath.Dir(path))
		}
	}
	if home := homeDirectory(); home != "" {
		rules.Code = append(rules.Code, filepath.Join(home, ".shardsh", "lib"), filepath.Join(home, ".shardshrc.js"),
			filepath.Join(home, ".mongoshrc.js"))
	}
	return &rules
}
