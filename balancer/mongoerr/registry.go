package mongoerr

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// registryText lists the codes with a name of MongoDB 8.0 and later: number, name,
// categories.
//
//go:embed registry.txt
var registryText string

// entry describes a code.
type entry struct {
	name       string
	categories []string
}

var registry = sync.OnceValue(func() map[Code]entry {
	list := map[Code]entry{}
	for line := range strings.Lines(registryText) {
		fields := strings.Fields(line)
		if n, err := strconv.Atoi(fields[0]); err == nil {
			list[Code(n)] = entry{fields[1], fields[2:]}
		}
	}
	return list
})

var codesByName = sync.OnceValue(func() map[string]Code {
	list := map[string]Code{}
	for code, e := range registry() {
		list[e.name] = code
	}
	return list
})

// Codes returns the codes that have a name, in order.
func Codes() []Code { return slices.Sorted(maps.Keys(registry())) }

// Categories returns the names of the categories, such as RetriableError.
func Categories() []string {
	known := map[string]bool{}
	for _, e := range registry() {
		for _, category := range e.categories {
			known[category] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// Name returns the symbolic name, or Location with the number for a code that has
// none.
func (c Code) Name() string {
	if e, ok := registry()[c]; ok {
		return e.name
	}
	return "Location" + strconv.Itoa(int(c))
}

// InCategory reports whether a code is in a category.
func (c Code) InCategory(category string) bool {
	return slices.Contains(registry()[c].categories, category)
}

// CodeByName returns the code of a symbolic name.
func CodeByName(name string) (c Code, ok bool) {
	c, ok = codesByName()[name]
	return c, ok
}

// IsCodeName reports whether a word is the symbolic name of a code.
func IsCodeName(word string) bool {
	_, ok := CodeByName(word)
	return ok
}
