package cmdline

import "shardsh/balancer/catalog"

// Release is a release of the server; unset means the default release.
type Release struct {
	Release catalog.Release
	Given   bool
}

func (v *Release) String() string { return v.Release.String() }

// Type returns the type of the value.
func (v *Release) Type() string { return "VERSION" }

// Set parses a release such as 8.0.
func (v *Release) Set(text string) (err error) {
	v.Release, err = catalog.ParseRelease(text)
	v.Given = err == nil
	return err
}
