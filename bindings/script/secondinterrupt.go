package script

import (
	"context"
	"sync"
)

type insistence struct{}

// WithSecondInterrupt returns a context in which a second Ctrl-C can be heard of: insist tells
// those who wait for something to end after the first one that they are not to.
func WithSecondInterrupt(ctx context.Context) (heard context.Context, insist func()) {
	c := make(chan struct{})
	return context.WithValue(ctx, insistence{}, c), sync.OnceFunc(func() { close(c) })
}

// SecondInterrupt returns what is closed by a second Ctrl-C; nil where none can be heard of.
func SecondInterrupt(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(insistence{}).(chan struct{})
	return c
}
