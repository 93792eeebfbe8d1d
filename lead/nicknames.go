package lead

import "strings"

// nicknames are given names of English that are used for one another, as far as
// one is not the beginning of the other; each line is of one name. A nickname may
// be in several.
const nicknames = `
abigail abby abbie gail
albert al bert
alexander alexandra alex sandy sasha xander
alfred al fred alf
amanda mandy
andrew andy drew
angela angie
anthony antony tony
antonia toni
barbara barb babs
catherine katherine kathryn katharine cathy kathy kate katie kitty
charles charlie chuck chas
christina christine chris tina kristina
cynthia cindy
david dave davy
deborah debra debbie
dorothy dot dottie
edward ed eddie ned ted
eleanor ellie nell nora
elizabeth elisabeth liz lizzie beth betty betsy eliza lisa libby
eric erik
eugene gene
florence flo
frances fran fanny
frederick fred freddie
gabriel gabe
geoffrey jeffrey geoff jeff
gerald gerry jerry
harold harry hal
henry hank harry
isabella bella izzy
jacob jake
james jim jimmy jamie
jennifer jenny jen
jessica jess jessie
john jon johnny jack
jonathan jon jonny
joseph joe joey
judith judy
kenneth ken kenny
lawrence laurence larry
leonard len lenny
louis lewis lou
marc mark
margaret maggie meg peggy peg greta rita
martin marty
martha marty
mary molly polly
matthew matt matty
maximilian max
michael mike mick micky
mohammed muhammad mohamed mohammad muhammed
nathaniel nathan nate
nicholas nicolas nick nicky
patricia pat patty trish tricia
patrick pat paddy
peter pete
philip phillip phil
rebecca becky becca
richard rick ricky dick rich
robert rob robbie bob bobby
ronald ron ronnie
samuel samantha sam sammy
sarah sally sadie
stephen steven steve
susan sue susie suzy
terence terrence terry
theodore ted teddy theo
theresa teresa terry tess
thomas tom tommy
timothy tim timmy
veronica ronnie
victoria vicky vicki tori
vincent vince vinny
walter walt wally
william will bill billy willy liam
zachary zach zack
`

// nicknameLines are the lines of [nicknames] that a name is in.
var nicknameLines = func() map[string][]int {
	lines := map[string][]int{}
	for i, line := range strings.Split(nicknames, "\n") {
		for _, name := range strings.Fields(line) {
			lines[name] = append(lines[name], i)
		}
	}
	return lines
}()

// isNickname reports whether two given names are used for one another.
func isNickname(a, b string) bool {
	for _, i := range nicknameLines[a] {
		for _, j := range nicknameLines[b] {
			if i == j {
				return true
			}
		}
	}
	return false
}
