//go:build !unix

package busypoll

import (
	"io"
	"net"
)

// Reader returns nc: polling is implemented for Unix only.
func (g *Group) Reader(nc net.Conn) io.Reader { return nc }

type reader struct{}
