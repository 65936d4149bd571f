package machine

import (
	"encoding/xml"
	"io"
)

// Suites is the content of a JUnit XML file.
type Suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Suites   []Suite  `xml:"testsuite"`
}

// Suite is a test suite.
type Suite struct {
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"`
	Timestamp  string      `xml:"timestamp,attr,omitempty"`
	Properties *Properties `xml:"properties,omitempty"`
	Cases      []*Case     `xml:"testcase"`
}

// Properties are the properties of a suite.
type Properties struct {
	List []Property `xml:"property"`
}

// Property is a property of a suite.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is a test case. At most one of Skipped, Error and Failure is set.
type Case struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Skipped *Message `xml:"skipped,omitempty"`
	Error   *Message `xml:"error,omitempty"`
	Failure *Message `xml:"failure,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
}

// Message says why a case was skipped or has failed.
type Message struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Add adds a suite and its counts.
func (s *Suites) Add(one Suite) {
	s.Tests, s.Failures, s.Errors = s.Tests+one.Tests, s.Failures+one.Failures, s.Errors+one.Errors
	s.Suites = append(s.Suites, one)
}

// Write writes the file.
func (s Suites) Write(to io.Writer) error {
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}
