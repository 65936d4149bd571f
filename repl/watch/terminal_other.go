//go:build !unix

package watch

// notifyResize does nothing: the next frame reads the size.
func notifyResize(chan<- struct{}) (stop func()) { return func() {} }

// suspend does nothing: this system has no job control.
func (t *Terminal) suspend() {}
