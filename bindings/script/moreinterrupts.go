package script

import (
	"context"
	"sync"
)

// moreInterrupts counts Ctrl-C after the first one, which ends the context.
type moreInterrupts struct {
	mu            sync.Mutex
	listeners     int
	pressed       int
	second, third chan struct{}
}

type interruptsKey struct{}

// WithMoreInterrupts returns a context that passes on a second and a third Ctrl-C, for work that does
// not end at the first one. The caller calls again for each of them; it reports whether the work
// handles them.
func WithMoreInterrupts(ctx context.Context) (withInterrupts context.Context, press func() (taken bool)) {
	m := &moreInterrupts{second: make(chan struct{}), third: make(chan struct{})}
	return context.WithValue(ctx, interruptsKey{}, m), m.press
}

func (m *moreInterrupts) press() (handled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pressed++
	switch m.pressed {
	case 1:
		close(m.second)
	case 2: // the third, including the one that ended the context
		close(m.third)
	default:
		return false
	}
	return m.listeners > 0
}

// MoreInterrupts returns channels that a second and a third Ctrl-C close, until done is called; nil for
// a context without them.
func MoreInterrupts(ctx context.Context) (second, third <-chan struct{}, done func()) {
	m, ok := ctx.Value(interruptsKey{}).(*moreInterrupts)
	if !ok {
		return nil, nil, func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners++
	return m.second, m.third, sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.listeners--
	})
}
