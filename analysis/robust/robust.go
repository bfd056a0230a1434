// Package robust describes samples by numbers that a few outliers do not move.
package robust

import (
	"math"
	"slices"
)

// Median is the middle value, the lower of two; 0 of none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return s[(len(s)-1)/2]
}

// normal makes of a median distance the standard deviation that normal noise has.
const normal = 1.4826

// Spread is a standard deviation by the median distance of the values from their middle.
func Spread(x []float64, middle float64) float64 { return normal * Deviation(x, middle) }

// Deviation is the median distance of the values from their middle.
func Deviation(x []float64, middle float64) float64 {
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - middle)
	}
	return Median(d)
}

// Share is the part of the values, 0 to 1, of which something holds; 0 of none.
func Share(x []float64, ok func(float64) bool) float64 {
	if len(x) == 0 {
		return 0
	}
	n := 0
	for _, v := range x {
		if ok(v) {
			n++
		}
	}
	return float64(n) / float64(len(x))
}
