// Package line opens clients whose commands cost less than the driver's own.
//
// For each message that it writes, and for each that it reads, the driver starts a
// goroutine that only watches whether the context ends. Another thread wakes up for
// it, which takes longer than all else that a small command does here. The
// connections of this package write and read by themselves; context.AfterFunc ends
// their waiting. Whatever is not plain is left to the driver: a message that fails, is
// large or cut short, a context that ends, and all that comes of these, down to the
// text of the errors. So are clients for which this would not do: those with TLS, whose
// round trips are long anyhow.
package line
