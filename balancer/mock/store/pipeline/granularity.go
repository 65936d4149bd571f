package pipeline

import (
	"math"
	"slices"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// granularity rounds the boundaries of $bucketAuto to a series of preferred numbers: the numbers of one
// decade, times any power of ten. A nil granularity does not round. An empty one rounds to powers of
// two.
type granularity []float64

// preferredNumbers returns the Renard series, the 1-2-5 series, and the E series up to E24. The larger E
// series are computed.
func preferredNumbers() map[string]granularity {
	return map[string]granularity{
		"R5":  {10, 16, 25, 40, 63},
		"R10": {100, 125, 160, 200, 250, 315, 400, 500, 630, 800},
		"R20": {100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900},
		"R40": {
			100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212, 224, 236, 250, 265, 280, 300,
			315, 335, 355, 375, 400, 425, 450, 475, 500, 530, 560, 600, 630, 670, 710, 750, 800, 850, 900, 950,
		},
		"R80": {
			100, 103, 106, 109, 112, 115, 118, 122, 125, 128, 132, 136, 140, 145, 150, 155, 160, 165, 170, 175,
			180, 185, 190, 195, 200, 206, 212, 218, 224, 230, 236, 243, 250, 258, 265, 272, 280, 290, 300, 307,
			315, 325, 335, 345, 355, 365, 375, 387, 400, 412, 425, 437, 450, 462, 475, 487, 500, 515, 530, 545,
			560, 580, 600, 615, 630, 650, 670, 690, 710, 730, 750, 775, 800, 825, 850, 875, 900, 925, 950, 975,
		},
		"1-2-5": {10, 20, 50},
		"E6":    {10, 15, 22, 33, 47, 68},
		"E12":   {10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82},
		"E24":   {10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91},
		"E48":   electronicSeries(48), "E96": electronicSeries(96), "E192": electronicSeries(192),
		"POWERSOF2": {},
	}
}

// electronicSeries returns the E series with n numbers per decade: geometrically spaced numbers of three
// digits. One number of E192 is not rounded like the others (IEC 60063).
func electronicSeries(n int) granularity {
	var series granularity
	for i := range n {
		x := math.Round(100 * math.Pow(10, float64(i)/float64(n)))
		if x == 919 {
			x = 920
		}
		series = append(series, x)
	}
	return series
}

func newGranularity(v value.Value) (granularity, error) {
	if value.IsOmittedArgument(v) {
		return nil, nil
	}
	if !value.IsString(v) {
		return nil, servererr.NewCode(40261, "The $bucketAuto 'granularity' field must be a string, but found type: %s",
			value.TypeName(v))
	}
	g, known := preferredNumbers()[value.TextAt(v.Value)]
	if !known {
		return nil, servererr.NewCode(40257, "Unknown rounding granularity '%s'", value.TextAt(v.Value))
	}
	return g, nil
}

func (g granularity) checkNumber(v value.Value) error {
	switch {
	case !value.IsNumber(v):
		return servererr.NewCode(40258,
			"$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value "+
				"with type: %s",
			value.TypeName(v))
	case value.IsNaN(v):
		return servererr.NewCode(40259,
			"$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN")
	case value.ToDouble(v) < 0:
		return servererr.NewCode(40260,
			"$bucketAuto can specify a 'granularity' with non-negative numbers only, but found a "+
				"negative number: %s",
			v)
	}
	return nil
}

// roundUp returns the smallest number of the series above v; zero stays zero.
func (g granularity) roundUp(v value.Value) (value.Value, error) {
	n := value.ToDouble(v)
	if err := g.checkNumber(v); err != nil || n == 0 || math.IsInf(n, 0) {
		return v, err
	}
	if len(g) == 0 {
		return value.Double(math.Pow(2, math.Floor(math.Log2(n))+1)), nil
	}
	low, high := g[0], g[len(g)-1]
	scale, lowest := 1.0, 0.0
	for n >= high*scale {
		scale *= 10
	}
	for n < low*scale {
		lowest = low * scale
		scale /= 10
	}
	if n >= high*scale {
		return value.Double(lowest), nil
	}
	return value.Double(g[slices.IndexFunc(g, func(s float64) bool { return n < s*scale })] * scale), nil
}

// roundDown returns the largest number of the series below v; zero stays zero.
func (g granularity) roundDown(v value.Value) (value.Value, error) {
	n := value.ToDouble(v)
	if err := g.checkNumber(v); err != nil || n == 0 || math.IsInf(n, 0) {
		return v, err
	}
	if len(g) == 0 {
		return value.Double(math.Pow(2, math.Ceil(math.Log2(n))-1)), nil
	}
	low, high := g[0], g[len(g)-1]
	scale, highest := 1.0, 0.0
	for n <= low*scale {
		scale /= 10
	}
	for scale > 0 && n > high*scale { // the scale of the smallest doubles is 0
		highest = high * scale
		scale *= 10
	}
	if n <= low*scale || scale == 0 {
		return value.Double(highest), nil
	}
	at := slices.IndexFunc(g, func(s float64) bool { return n <= s*scale })
	return value.Double(g[at-1] * scale), nil
}
