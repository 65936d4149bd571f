package quota

import (
	"context"
	"sync"
	"sync/atomic"

	"shardsh/balancer/mongoerr"
)

// Budget limits the memory that all commands of a process hold together: documents that
// stages collect, intermediate values of expressions, and results buffered in
// cursors. When it is used up, the largest command is refused, of equal ones
// the newest; the others go on.
type Budget struct {
	max int64

	mu           sync.Mutex
	used         int64
	refusedBytes int64 // held by refused commands that have not ended yet
	opened       atomic.Uint64
	accounts     map[*Account]struct{}
}

// NewBudget makes a budget of the given bytes; 0 is unlimited.
func NewBudget(maxBytes int64) *Budget {
	return &Budget{max: maxBytes, accounts: map[*Account]struct{}{}}
}

// Account counts the memory of one command. The budget lists it while it holds
// something.
type Account struct {
	budget     *Budget
	number     uint64 // the newest has the greatest
	held       int64
	cancel     context.CancelCauseFunc
	refusedErr error // why it was refused
}

type accountKey struct{}

// Open opens the account of a command. Memory that is used with the context
// is charged to the account, and the context ends when the command is refused.
func (b *Budget) Open(ctx context.Context) (context.Context, *Account) {
	return b.OpenWithCancel(context.WithCancelCause(ctx))
}

// OpenWithCancel is Open for a context that can be cancelled already.
func (b *Budget) OpenWithCancel(ctx context.Context, cancel context.CancelCauseFunc) (context.Context, *Account) {
	withAccount := &accountContext{Context: ctx, account: Account{budget: b, number: b.opened.Add(1), cancel: cancel}}
	return withAccount, &withAccount.account
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

// Used returns the bytes that are held now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Reserve asks for n bytes more. It fails with ExceededMemoryLimit when there
// is no memory left and no larger command to refuse. A nil account is unlimited.
func (a *Account) Reserve(n int64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for a.refusedErr == nil && b.max > 0 && b.used-b.refusedBytes+n > b.max {
		b.largest(a, n).refuseCommand(n)
	}
	if a.refusedErr != nil {
		return a.refusedErr
	}
	b.accounts[a] = struct{}{}
	a.held, b.used = a.held+n, b.used+n
	return nil
}

// largest finds the account that holds most, counting what a asks for.
func (b *Budget) largest(a *Account, n int64) *Account {
	found, most := a, a.held+n
	for other := range b.accounts {
		if other == a || other.refusedErr != nil || other.held < most ||
			other.held == most && other.number < found.number {
			continue
		}
		found, most = other, other.held
	}
	return found
}

// refuseCommand refuses the command, which asked for n more bytes or is the largest one.
func (a *Account) refuseCommand(n int64) {
	a.refusedErr = mongoerr.New(mongoerr.ExceededMemoryLimit, "the commands of this process keep %d bytes in memory, and "+
		"%d more would be beyond what they may (--memory %d): this one, which keeps %d of them, is the largest and is "+
		"refused: narrow it down, or allow more", a.budget.used, n, a.budget.max, a.held)
	a.budget.refusedBytes += a.held
	a.cancel(a.refusedErr)
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
	if a.refusedErr != nil {
		b.refusedBytes -= n
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
	if a.refusedErr != nil {
		b.refusedBytes -= a.held
	}
	b.used, a.held = b.used-a.held, 0
	delete(b.accounts, a)
	a.cancel(context.Canceled)
}
