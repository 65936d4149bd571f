package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/changes"
	"shardsh/bindings/sandbox"
	gateway "shardsh/bindings/server"
	"shardsh/cmd/shardsh/secret"
)

// readOnlyGuard returns the guard of --read-only; nil without it.
func readOnlyGuard(readOnly bool) gateway.Guard {
	if !readOnly {
		return nil
	}
	return guardChanges(func(_ string, command bson.Raw) (bson.Raw, error) {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "--read-only refuses the command %s", command.Index(0).Key())
	})
}

// printChange prints a command that a dry run does not send.
func printChange(env environment, json bool, database string, command bson.Raw) {
	fmt.Fprintf(changesOut(env, json), "would send to %s\n", secret.Redact(changes.Describe(database, command)))
}

// changesOut returns the writer for the commands of a dry run. With JSON output, it is not standard
// output.
func changesOut(env environment, json bool) io.Writer {
	if json {
		return env.errOut()
	}
	return env.out()
}

// guardChanges returns a guard that only checks commands which change something.
func guardChanges(guard gateway.Guard) gateway.Guard {
	table := commands.ByName()
	return func(database string, command bson.Raw) (bson.Raw, error) {
		if elems, err := command.Elements(); err != nil || len(elems) == 0 || commands.IsReadOnly(table, command) {
			return nil, err
		}
		return guard(database, command)
	}
}

// newConfirmation returns the confirmation before each change; nil without --confirm.
func newConfirmation(env environment, on bool) (*changes.Confirmation, gateway.Confirm, error) {
	may := new(changes.Confirmation)
	if !on {
		return may, nil, nil
	}
	terminal, err := openTerminal(env)
	if err != nil {
		return nil, nil, usagef("--confirm: no terminal to confirm on: --dry-run shows what would be sent")
	}
	may.Ask = func(ctx context.Context, question string) (string, error) {
		fmt.Fprint(terminal, question)
		return readLine(ctx, terminal)
	}
	table := commands.ByName()
	return may, func(database string, command bson.Raw) error {
		if commands.IsReadOnly(table, command) {
			return nil
		}
		return may.Confirm(database, command)
	}, nil
}

// sandboxRules returns the permissions of scripts on this machine; nil allows everything. Scripts may
// run the scripts of the command line, files in their directories, and the user's own files for all
// sessions.
func (o *shellFlags) sandboxRules() *sandbox.Rules {
	if !o.sandbox {
		return nil
	}
	rules := o.allow
	for _, file := range o.files {
		rules.CodePaths = append(rules.CodePaths, file)
		if path, err := filepath.Abs(file); err == nil && file != "/dev/stdin" {
			rules.CodePaths = append(rules.CodePaths, filepath.Dir(path))
		}
	}
	if home := homeDirectory(); home != "" {
		rules.CodePaths = append(rules.CodePaths, filepath.Join(home, ".shardsh", "lib"),
			filepath.Join(home, ".shardshrc.js"),
			filepath.Join(home, ".mongoshrc.js"))
	}
	return &rules
}
