package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stages are what the signals after the first one ask for. That one ends the
// context of the program.
type stages struct {
	insist chan struct{}   // is closed by the second
	hard   context.Context // ends with the third, and soon after --timeout and SIGTERM
	end    func()
}

// errLeft says that what is under way was left to the cluster.
var errLeft = errors.New("left by the user while moves were under way")

func listenForMore(ctx context.Context) stages {
	caught := make(chan os.Signal, 3)
	done := make(chan struct{})
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	steps, forget := impatient(ctx)
	hard, leave := context.WithCancelCause(steps)
	s := stages{insist: make(chan struct{}), hard: hard, end: func() {
		signal.Stop(caught)
		close(done)
		leave(nil)
		forget()
	}}
	go func() {
		for n := 1; n <= 3; n++ {
			select {
			case <-caught:
			case <-done:
				return
			}
			switch n {
			case 2:
				close(s.insist)
			case 3:
				leave(errLeft)
			}
		}
	}()
	return s
}
