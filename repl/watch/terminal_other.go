//go:build !unix

package watch

// notifyResize does nothing: the next frame asks for the size.
func notifyResize(chan<- struct{}) (stop func()) { return func() {} }

// suspend does nothing: there is no shell to go back to.
func (t *Terminal) suspend() {}
