package store

import (
	"bytes"

	"shardsh/balancer/mongoerr"
)

// sameKind reports whether two indexes are one to the server: key, unique,
// sparse and the partial filter decide, whatever else they were made with.
func (s IndexSpec) sameKind(o IndexSpec) bool {
	return compare(objectValue(s.Key), objectValue(o.Key)) == 0 && s.Unique == o.Unique && s.Sparse == o.Sparse &&
		lookup(s.Options, "partialFilterExpression").Equal(lookup(o.Options, "partialFilterExpression"))
}

// sameAs reports whether an index that is asked for is there already, or why it
// can't stand beside one that is there.
func (s IndexSpec) sameAs(there IndexSpec) (bool, error) {
	named, equal := s.Name == there.Name, bytes.Equal(s.Options, there.Options)
	both := func(text string) error {
		return serverError(mongoerr.IndexOptionsConflict, text+" Requested index: %s, existing index: %s", s.text(),
			there.text())
	}
	switch kind := s.sameKind(there); {
	case kind && named && equal:
		return true, nil
	case kind && named:
		return false, both("An equivalent index already exists with the same name but different options.")
	case kind && equal:
		return false, serverError(mongoerr.IndexOptionsConflict, "Index already exists with a different name: %s", there.Name)
	case kind:
		return false, both("An equivalent index already exists with a different name and options.")
	case named:
		return false, serverError(mongoerr.IndexKeySpecsConflict,
			"An existing index has the same name as the requested index. When index names are not specified, they are auto "+
				"generated and can cause conflicts. Please refer to our documentation. Requested index: %s, existing index: %s",
			s.text(), there.text())
	}
	return false, nil
}

// text returns an index as messages show it.
func (s IndexSpec) text() string {
	fs := []field{{"v", int32Value(2)}}
	if s.Unique {
		fs = append(fs, field{"unique", boolValue(true)})
	}
	fs = append(fs, field{"key", objectValue(s.Key)}, field{"name", stringValue(s.Name)})
	if s.Sparse {
		fs = append(fs, field{"sparse", boolValue(true)})
	}
	for n, v := range fields(s.Options) {
		fs = append(fs, field{string(n), v})
	}
	return mongoerr.Text(documentOf(fs...))
}
