package triage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// rounded is a number as the report has it: four digits that count.
func rounded(v float64) *float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
		return &v
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	v = math.Round(v*scale) / scale
	return &v
}

// short is a number with three digits that count, and separators.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return grouped(int64(math.Round(v)))
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// grouped is an integer in groups of three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// span is a length of time for people.
func span(sec float64) string {
	sec = math.Round(sec)
	switch {
	case sec >= 36*3600:
		return fmt.Sprintf("%.1f d", sec/86400)
	case sec >= 3600:
		return fmt.Sprintf("%.0f h %02.0f min", math.Floor(sec/3600), math.Floor(math.Mod(sec, 3600)/60))
	case sec >= 120:
		return fmt.Sprintf("%.0f min", sec/60)
	}
	return fmt.Sprintf("%.0f s", sec)
}

// stepSeconds is the time of a step.
func stepSeconds(v float64) string {
	if v < 1 {
		return short(v*1000) + " ms"
	}
	return short(v) + " s"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(int64(n)) + " " + what + "s"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// ids is a list of ranks in few letters: "3, 8-11, 15".
func ids(list []int) string {
	list = slices.Clone(list)
	slices.Sort(list)
	var parts []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		if k > i {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[k]))
		} else {
			parts = append(parts, strconv.Itoa(list[i]))
		}
		i = k + 1
	}
	return few(parts)
}

// few is a list of which a person reads the beginning.
func few(parts []string) string {
	const most = 4
	if len(parts) <= most {
		return strings.Join(parts, ", ")
	}
	return strings.Join(parts[:most], ", ") + fmt.Sprintf(", … (%d more)", len(parts)-most)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(len(v), 1))
}
