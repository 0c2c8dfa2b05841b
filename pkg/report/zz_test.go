package report
import ("testing";"strings";"time";"fmt")
func TestZZ(t *testing.T){
 n:=1<<20
 var lad strings.Builder
 for i:=1; lad.Len()<n; i++ { lad.WriteString(strings.Repeat("`",i%2000+1)+"a") }
 for name,s:=range map[string]string{"gh":strings.Repeat("GH-1",n/4),"num":strings.Repeat("#1",n/2),"tick":strings.Repeat("` ",n/2),"ladder":lad.String(),"a":strings.Repeat("a",n),"at":strings.Repeat("a@",n/2),"url":strings.Repeat("http://)",n/8),"dollar":strings.Repeat("$a",n/2),"scheme":strings.Repeat("a.",n/2),"fence":strings.Repeat("```\n",n/4),"hidden":strings.Repeat("\u202ea",n/4),"words":strings.Repeat("word ",n/5),"www":strings.Repeat("www.",n/4),"lines":strings.Repeat("a\n",n/2),"pipe":strings.Repeat("`|",n/2)} {
  s0:=time.Now(); out:=Inert(s,Policy{}); d1:=time.Since(s0); s0=time.Now(); Inert(s,Policy{Line:true}); d2:=time.Since(s0)
  s0=time.Now(); wrap(s,80)
  fmt.Println(name,d1,d2,time.Since(s0),len(out))
 }
}
