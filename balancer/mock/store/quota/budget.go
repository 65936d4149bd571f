package quota

import (
	"context"
	"sync"
	"sync/atomic"

	"shardsh/balancer/mongoerr"
)

// Budget bounds what all commands of a process keep in memory together: what
// stages gather, what expressions make on their way, and results that wait in
// cursors. When it is used up, the largest command is refused, of equal ones
// the newest; the others go on.
type Budget struct {
	most int64

	mu       sync.Mutex
	used     int64
	leaving  int64 // held by those that have been refused, and are about to go
	opened   atomic.Uint64
	accounts map[*Account]struct{}
}

// NewBudget makes a budget of so many bytes; without a bound for 0.
func NewBudget(most int64) *Budget {
	return &Budget{most: most, accounts: map[*Account]struct{}{}}
}

// Account is what one command keeps. It is known to the budget while it holds
// something.
type Account struct {
	budget *Budget
	number uint64 // the newest has the greatest
	held   int64
	refuse context.CancelCauseFunc
	gone   error // why it was refused
}

type accountKey struct{}

// Open begins the account of a command. What the command does with the context
// goes to its account, and the context ends when the command is refused.
func (b *Budget) Open(ctx context.Context) (context.Context, *Account) {
	return b.OpenUnder(context.WithCancelCause(ctx))
}

// OpenUnder is Open for a context that can be cancelled already.
func (b *Budget) OpenUnder(ctx context.Context, refuse context.CancelCauseFunc) (context.Context, *Account) {
	of := &accountContext{Context: ctx, account: Account{budget: b, number: b.opened.Add(1), refuse: refuse}}
	return of, &of.account
}

// accountContext is the context of a command with an account.
type accountContext struct {
	context.Context
	account Account
}

// Value returns the account, among others.
func (a *accountContext) Value(key any) any {
	if key == (accountKey{}) {
		return &a.account
	}
	return a.Context.Value(key)
}

func accountOf(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// Used returns how much is kept now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Reserve asks for n bytes more. It fails with ExceededMemoryLimit when there
// is no room, and nobody larger to make some. Nobody bounds a nil account.
func (a *Account) Reserve(n int64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for a.gone == nil && b.most > 0 && b.used-b.leaving+n > b.most {
		b.largest(a, n).leave(n)
	}
	if a.gone != nil {
		return a.gone
	}
	b.accounts[a] = struct{}{}
	a.held, b.used = a.held+n, b.used+n
	return nil
}

// largest finds the account that holds most, counting what a asks for.
func (b *Budget) largest(a *Account, n int64) *Account {
	found, most := a, a.held+n
	for other := range b.accounts {
		if other == a || other.gone != nil || other.held < most ||
			other.held == most && other.number < found.number {
			continue
		}
		found, most = other, other.held
	}
	return found
}

// leave refuses the command, which asked for n more or has to make room for it.
func (a *Account) leave(n int64) {
	a.gone = mongoerr.New(mongoerr.ExceededMemoryLimit, "the commands of this process keep %d bytes in memory, and "+
		"%d more would be beyond what they may (--memory %d): this one, which keeps %d of them, is the largest and is "+
		"refused: narrow it down, or allow more", a.budget.used, n, a.budget.most, a.held)
	a.budget.leaving += a.held
	a.refuse(a.gone)
}

// Release gives n bytes back.
func (a *Account) Release(n int64) {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, a.held)
	a.held, b.used = a.held-n, b.used-n
	if a.gone != nil {
		b.leaving -= n
	}
}

// Close gives all back and ends the account.
func (a *Account) Close() {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.gone != nil {
		b.leaving -= a.held
	}
	b.used, a.held = b.used-a.held, 0
	delete(b.accounts, a)
	a.refuse(context.Canceled)
}
