//go:build !unix

package awake

import (
	"io"
	"net"
)

// Reader returns nc itself: systems other than Unix have other ways to wait.
func (l *Lookout) Reader(nc net.Conn) io.Reader { return nc }

type reader struct{}
