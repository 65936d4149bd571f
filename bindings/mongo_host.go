package bindings

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"shardsh/bindings/script"
)

// mongoPrototype returns what connections inherit from: methods, and the field
// that scripts of the old shell give to new Mongo().
func (s *Shell) mongoPrototype() *goja.Object {
	return s.JS.Classes.Cached("Mongo with fields", func() *goja.Object {
		proto := prototype(s, "Mongo", slices.Concat(mongoMethods(), connectionLegacyMethods()))
		host := s.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
			m, ok := script.Receiver[*mongoObject](fc.This)
			if !ok {
				return goja.Undefined()
			}
			return s.JS.Runtime.ToValue(m.hosts())
		})
		script.Must(proto.DefineAccessorProperty("host", host, nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
		return proto
	})
}

// hosts returns the servers of a connection's address, with ports.
func (m *mongoObject) hosts() string {
	parsed, err := connstring.Parse(m.Address)
	if err != nil {
		return m.Address
	}
	hosts := parsed.Hosts
	for i, host := range hosts {
		if !strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":") {
			hosts[i] = host + ":27017"
		}
	}
	return strings.Join(hosts, ",")
}
