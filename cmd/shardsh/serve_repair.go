package main

import (
	"errors"
	"fmt"

	"shardsh/balancer/mock/salvage"
)

// errDamaged is how --verify ends when it found something, which it has told.
var errDamaged = errors.New("the cluster on disk is damaged")

// mostLines is how many lines of one kind are told.
const mostLines = 1000

// repair is "shardsh serve" with --verify or --salvage.
func (env environment) repair(o serveLine) error {
	look := salvage.Verify
	if o.salvage {
		look = salvage.Salvage
	}
	r, err := look(o.dbpath)
	if err != nil {
		return err
	}
	env.tell("damaged", r.Damages)
	env.tell("lost", r.Losses)
	env.tell("contradicts itself", r.Broken)
	switch {
	case r.Whole():
		fmt.Fprintf(env.stdout, "%s is whole: %d entries, %d bytes\n", o.dbpath, r.Entries, r.Bytes)
		return nil
	case o.verify:
		return reportedError{errDamaged}
	}
	fmt.Fprintf(env.stdout, "saved: %d entries, %d bytes; the damaged file is %s\n", r.Entries, r.Bytes, r.Damaged)
	return nil
}

func (env environment) tell(what string, lines []string) {
	for _, line := range lines[:min(len(lines), mostLines)] {
		fmt.Fprintf(env.stdout, "%s: %s\n", what, line)
	}
	if more := len(lines) - mostLines; more > 0 {
		fmt.Fprintf(env.stdout, "%s: %d more\n", what, more)
	}
}
