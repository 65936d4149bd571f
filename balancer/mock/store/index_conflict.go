package store

import (
	"bytes"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// isEquivalent reports whether a server regards two indexes as the same: key, unique, sparse and the
// partial filter are equal. Other options do not matter.
func (s IndexSpec) isEquivalent(o IndexSpec) bool {
	return value.Compare(value.Object(s.Key), value.Object(o.Key)) == 0 && s.Unique == o.Unique && s.Sparse == o.Sparse &&
		document.Lookup(s.Options, "partialFilterExpression").Equal(document.Lookup(o.Options, "partialFilterExpression"))
}

// matchesExisting reports whether the requested index is the existing one, and returns an error if it
// conflicts with it.
func (s IndexSpec) matchesExisting(existing IndexSpec) (bool, error) {
	named, equal := s.Name == existing.Name, bytes.Equal(s.Options, existing.Options)
	both := func(text string) error {
		return servererr.New(mongoerr.IndexOptionsConflict, text+" Requested index: %s, existing index: %s", s.messageText(),
			existing.messageText())
	}
	switch kind := s.isEquivalent(existing); {
	case kind && named && equal:
		return true, nil
	case kind && named:
		return false, both("An equivalent index already exists with the same name but different options.")
	case kind && equal:
		return false, servererr.New(mongoerr.IndexOptionsConflict, "Index already exists with a different name: %s",
			existing.Name)
	case kind:
		return false, both("An equivalent index already exists with a different name and options.")
	case named:
		return false, servererr.New(mongoerr.IndexKeySpecsConflict,
			"An existing index has the same name as the requested index. When index names are not specified, they are auto "+
				"generated and can cause conflicts. Please refer to our documentation. Requested index: %s, existing index: %s",
			s.messageText(), existing.messageText())
	}
	return false, nil
}

// messageText returns the index in the format of error messages.
func (s IndexSpec) messageText() string {
	fs := []document.Field{{Name: "v", Value: value.Int32(2)}}
	if s.Unique {
		fs = append(fs, document.Field{Name: "unique", Value: value.Bool(true)})
	}
	fs = append(fs, document.Field{Name: "key", Value: value.Object(s.Key)},
		document.Field{Name: "name", Value: value.String(s.Name)})
	if s.Sparse {
		fs = append(fs, document.Field{Name: "sparse", Value: value.Bool(true)})
	}
	for n, v := range document.Fields(s.Options) {
		fs = append(fs, document.Field{Name: string(n), Value: v})
	}
	return mongoerr.Text(document.New(fs...))
}
