package acceptance

// Rounds pairs n hosts in rounds, so that no host is used twice in a round:
// every pair of hosts meets once, in n-1 rounds (n if n is odd). It is the
// circle method of round-robin tournaments. With most > 0 only that many rounds
// are kept, spread over the whole, so that every host has as many different
// partners: a covering design for clusters whose pairs are too many.
//
// Pairs are (lower, higher) by turns, so that over the rounds each host is as
// often first as second.
func Rounds(n, most int) [][][2]int {
	if n < 2 {
		return nil
	}
	m := n + n%2 // with an odd number, whoever meets host n rests
	all := m - 1
	keep := all
	if most > 0 && most < all {
		keep = most
	}
	rounds := make([][][2]int, 0, keep)
	for k := range keep {
		r := k * all / keep
		pairs := make([][2]int, 0, m/2)
		for i := range m / 2 {
			a, b := (r+i)%(m-1), (r+m-1-i)%(m-1)
			if i == 0 {
				b = m - 1
			}
			if a >= n || b >= n {
				continue
			}
			if (k+i)%2 == 1 {
				a, b = b, a
			}
			pairs = append(pairs, [2]int{a, b})
		}
		rounds = append(rounds, pairs)
	}
	return rounds
}
