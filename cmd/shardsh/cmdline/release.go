package cmdline

import "shardsh/balancer/catalog"

// Release is a release of the server; unset it is the present one.
type Release struct {
	Release catalog.Release
	Given   bool
}

func (v *Release) String() string { return v.Release.String() }

// Type is what the flag takes.
func (v *Release) Type() string { return "VERSION" }

// Set reads a release like 8.0.
func (v *Release) Set(text string) (err error) {
	v.Release, err = catalog.ParseRelease(text)
	v.Given = err == nil
	return err
}
