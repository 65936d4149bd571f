package cmdline

import "shardsh/balancer/catalog"

// Release is a release of the server; unset means the default release.
type Release struct {
	Release catalog.Release
	Given   bool
}

func (r *Release) String() string { return r.Release.String() }

// Type returns the type of the value.
func (r *Release) Type() string { return "VERSION" }

// Set parses a release such as 8.0.
func (r *Release) Set(text string) (err error) {
	r.Release, err = catalog.ParseRelease(text)
	r.Given = err == nil
	return err
}
