package quota

import (
	"context"
	"sync"
	"sync/atomic"

	"shardsh/balancer/mongoerr"
)

// Budget limits the total memory of all commands of a process: documents that stages collect,
// intermediate values of expressions, and results buffered in cursors. When it is exhausted, the command
// with the most memory fails; among equals, the newest one. The others continue.
type Budget struct {
	max int64

	mu           sync.Mutex
	usedBytes    int64
	refusedBytes int64 // held by failed commands that have not ended yet
	opened       atomic.Uint64
	accounts     map[*Account]struct{}
}

// NewBudget returns a budget of maxBytes; 0 means unlimited.
func NewBudget(maxBytes int64) *Budget {
	return &Budget{max: maxBytes, accounts: map[*Account]struct{}{}}
}

// Account counts the memory of one command. The budget lists the account while it holds memory.
type Account struct {
	budget     *Budget
	number     uint64 // increases with the time of opening
	usedBytes  int64
	cancel     context.CancelCauseFunc
	refusedErr error // the reason of the failure
}

type accountKey struct{}

// Open opens an account for a command. Memory used with the returned context is charged to the account.
// The budget cancels the context to make the command fail.
func (b *Budget) Open(ctx context.Context) (context.Context, *Account) {
	return b.OpenWithCancel(context.WithCancelCause(ctx))
}

// OpenWithCancel is like Open, for a context that is already cancellable.
func (b *Budget) OpenWithCancel(ctx context.Context, cancel context.CancelCauseFunc) (context.Context, *Account) {
	withAccount := &accountContext{Context: ctx, account: Account{budget: b, number: b.opened.Add(1), cancel: cancel}}
	return withAccount, &withAccount.account
}

// accountContext is the context of a command with an account.
type accountContext struct {
	context.Context
	account Account
}

// Value returns the account or a value of the parent context.
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

// Used returns the number of bytes in use.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usedBytes
}

// Reserve reserves n more bytes. It fails with ExceededMemoryLimit if the budget is exhausted and no
// other command has more memory. A nil account is unlimited.
func (a *Account) Reserve(n int64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for a.refusedErr == nil && b.max > 0 && b.usedBytes-b.refusedBytes+n > b.max {
		b.largest(a, n).refuseCommand(n)
	}
	if a.refusedErr != nil {
		return a.refusedErr
	}
	b.accounts[a] = struct{}{}
	a.usedBytes, b.usedBytes = a.usedBytes+n, b.usedBytes+n
	return nil
}

// largest returns the account with the most memory, including the n bytes that a requests.
func (b *Budget) largest(a *Account, n int64) *Account {
	found, most := a, a.usedBytes+n
	for other := range b.accounts {
		if other == a || other.refusedErr != nil || other.usedBytes < most ||
			other.usedBytes == most && other.number < found.number {
			continue
		}
		found, most = other, other.usedBytes
	}
	return found
}

// refuseCommand makes the command of the account fail. n is the number of bytes that a command has
// requested, not necessarily this one.
func (a *Account) refuseCommand(n int64) {
	a.refusedErr = mongoerr.New(mongoerr.ExceededMemoryLimit, "the commands of this process use %d bytes of memory, and "+
		"%d more would exceed the limit (--memory %d): this command, which uses %d bytes, is the largest and is "+
		"rejected: reduce its data, or increase the limit", a.budget.usedBytes, n, a.budget.max, a.usedBytes)
	a.budget.refusedBytes += a.usedBytes
	a.cancel(a.refusedErr)
}

// Release releases n bytes.
func (a *Account) Release(n int64) {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, a.usedBytes)
	a.usedBytes, b.usedBytes = a.usedBytes-n, b.usedBytes-n
	if a.refusedErr != nil {
		b.refusedBytes -= n
	}
}

// Close releases all memory and closes the account.
func (a *Account) Close() {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.refusedErr != nil {
		b.refusedBytes -= a.usedBytes
	}
	b.usedBytes, a.usedBytes = b.usedBytes-a.usedBytes, 0
	delete(b.accounts, a)
	a.cancel(context.Canceled)
}
