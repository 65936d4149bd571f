package script

import (
	"context"
	"sync"
)

type insistence struct{}

// WithSecondInterrupt returns a context that carries a second Ctrl-C: insist ends what still
// waits for something to finish after the first one.
func WithSecondInterrupt(ctx context.Context) (heard context.Context, insist func()) {
	c := make(chan struct{})
	return context.WithValue(ctx, insistence{}, c), sync.OnceFunc(func() { close(c) })
}

// SecondInterrupt returns a channel that a second Ctrl-C closes; nil for a context without one.
func SecondInterrupt(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(insistence{}).(chan struct{})
	return c
}
