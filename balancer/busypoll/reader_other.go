//go:build !unix

package busypoll

import (
	"io"
	"net"
)

// Reader returns nc itself: systems other than Unix have other ways to wait.
func (g *Group) Reader(nc net.Conn) io.Reader { return nc }

type reader struct{}
