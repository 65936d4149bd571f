package bindings

import (
	"shardsh/bindings/complete"
	"shardsh/bindings/node"
	"shardsh/bindings/server"
)

// BSONForms returns the forms of the constructors of BSON, for their help.
func BSONForms() map[string][2]string { return bsonForms() }

// Completer returns what completes the inputs.
func (s *Shell) Completer() *complete.Completer { return s.completer }

// Gateway returns the way to the server.
func (s *Shell) Gateway() *server.Gateway { return s.gateway }

// NodeWorld returns the objects of Node.
func (s *Shell) NodeWorld() *node.Globals { return s.node }
