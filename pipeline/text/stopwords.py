"""Function words per language: articles, pronouns, prepositions, conjunctions, auxiliaries, question words.

Closed classes only. The packaged lists were looked at and left: they hold words that carry a query (``computer``,
``information``, ``system``, ``world`` and every country code in one English list of 1,333 words), and what is asked
here is which words of a query carry its meaning. A language without a list keeps all of its words.
"""

from __future__ import annotations

from functools import lru_cache

_WORDS = {
    "en": "a about above after again against all also although am an and any are as at be because been before being "
    "below between both but by can cannot could did do does doing done down during each either few for from further "
    "had has have having he her here hers herself him himself his how however i if in into is it its itself just many "
    "may me might more most much must my myself neither no nor not of off on once one only or other others our ours "
    "out over own per same shall she should since so some such than that the their theirs them themselves then there "
    "these they this those though through thus to too under until up upon us very was we were what when where whether "
    "which while who whom whose why will with within without would you your yours yourself s t d ll m re ve don doesn "
    "didn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn",
    "de": "aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann das dass "
    "dein deine dem den denn der deren des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine "
    "einem einen einer eines er es etwa etwas euch euer für gegen hat hatte hatten habe haben ich ihm ihn ihnen ihr ihre "
    "ihrem ihren ihrer ihres im in ins ist ja jede jedem jeden jeder jedes kann kein keine keinem keinen keiner können "
    "könnte man mehr mein meine mich mir mit muss müssen nach nicht noch nun nur ob oder ohne sehr sein seine seinem "
    "seinen seiner seit sich sie sind so soll sollte sowie über um und uns unser unter viel viele vom von vor während "
    "wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werden wessen wie wieder "
    "wieso will wird wo wofür woher wohin wozu wurde wurden zu zum zur zwischen",
    "fr": "a ai ainsi alors après au aucun aucune aussi autre autres aux avant avec avoir c ce ceci cela ces cet cette "
    "ceux chaque chez ci comme comment d dans de depuis des donc dont du elle elles en encore entre es est et étaient "
    "était été être eu eux fait faut furent fut il ils j je jusqu l la là laquelle le lequel les lesquelles lesquels "
    "leur leurs lorsque lui m ma mais me même mes moi moins mon n ne ni non nos notre nous on ont ou où par parce pas "
    "pendant peut peuvent plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si "
    "sien soit son sont sous sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y",
    "es": "a al algo algún alguna algunas algunos ante antes aquel aquella así aún aunque bajo cada como cómo con contra "
    "cual cuál cuales cuáles cualquier cuando cuándo cuánta cuántas cuánto cuántos de del desde donde dónde dos durante "
    "e el él ella ellas ellos en entre era eran eres es esa esas ese eso esos esta está están estaba estas este esto "
    "estos fue fueron ha había han hasta hay la las le les lo los más me mi mientras mis muy nada ni no nos nosotros "
    "nuestra nuestro o otra otras otro otros para pero por porque puede pueden pues que qué quien quién quienes quiénes "
    "se sea según ser si sí sido sin sobre son su sus también tan tanto te tiene tienen toda todas todo todos tras tu "
    "tus u un una unas uno unos y ya yo",
    "it": "a ad agli ai al alla alle allo anche ancora c che chi ci coi col come con contro cosa cui d da dagli dai dal "
    "dalla dalle dallo degli dei del della delle dello di dopo dove e è ed era erano essere fra fu furono gli ha hanno "
    "i il in io l la le lei li lo loro lui ma mi mia mio ne negli nei nel nella nelle nello no noi non nostro o ogni "
    "oppure per perché più può possono quale quali quando quanta quante quanti quanto quegli quella quelle quelli quello "
    "questa queste questi questo qui se senza si sia sono stata stato su sua sue sugli sui sul sulla sulle sullo suo "
    "suoi tra tu tutti tutto un una uno vi viene voi",
    "pt": "a à ao aos aquela aquele aquilo as às até cada com como da das de dela dele deles depois do dos e é ela elas "
    "ele eles em entre era eram essa essas esse esses esta está estão estas este estes eu foi foram há isso isto já lhe "
    "mais mas me mesmo meu minha muito na nas não nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo "
    "pelos pode podem por porque porquê qual quais quando quanta quantas quanto quantos que quê quem se seja sem ser seu "
    "seus só sobre sua suas são também te tem têm teve tinha um uma uns você vocês",
    "nl": "aan al alle als ander andere bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen "
    "had heb hebben heeft hem het hier hij hoe hoeveel hun ik in is ja je kan kon kunnen maar me meer men met mij mijn "
    "moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen toch toen tot u uit uw van veel voor "
    "waar waarom wanneer waren was wat we welk welke wel werd werden wezen wie wij wil worden wordt zal ze zelf zich "
    "zij zijn zo zonder zou",
    "ru": "а без более бы был была были было быть в вам вас ведь весь во вот все всё всего всех вы где да даже для до "
    "его ее её если есть ещё еще же за здесь и из или им их к как какая какие каким какими каких какого какое какой "
    "какую ко когда кого кому которая которого которое которой которые который которых кто куда ли либо между меня мне "
    "может можно мой мы на над надо нас наш не него нее неё нет ни них но ну о об однако он она они оно от откуда перед "
    "по под после потому почему при про с сам свое своего своей свои своих свой себя сколько со так также такие такой "
    "там те тем то тогда того той только том тот тоже ту ты у уже чего чей чем через что чтобы чьи чья эта эти этих это "
    "этого этой этом этот эту я является являются",
    "sv": "all alla allt att av blev bli blir de dem den denna deras dess dessa det detta dig din där då efter ej eller "
    "en er ett från för ha hade han hans har hennes hon honom hur här i icke in inom inte jag kan kunde man med mellan "
    "men mig min mot mycket ni nu när någon något några och om oss på sedan sig sin sina sitt skulle som så till under "
    "upp ut utan vad var varför vara vart varje vars vem vi vid vilka vilken vilket är över",
    "tr": "acaba ama ancak bana bazı belki ben beni bir biri biz bu buna bunda bundan bunlar bunu bunun çok çünkü da "
    "daha de değil diye eğer en gibi göre hangi hem hep her için ile ise kaç kadar kendi ki kim kime kimin mi mı mu mü "
    "nasıl ne neden nedir nerede nereye niçin niye o olan olarak oldu olduğu olur ona onlar onun sen siz şey şu tüm var "
    "ve veya ya yani",
    "ar": "أ أن أو أي أية أين إلى إن إذا إلا أم أما أمام أنا أنت الا التي الذي الذين الى ان او اي اين بأن بعد بعض بل بين "
    "بها به بهذا تحت تكون تلك تم ثم حتى حول حيث خلال دون ذلك سوف عبر عدا عدد على عليه عليها عن عند عندما عنها عنه غير "
    "فإن في فى فيه فيها قبل قد كان كانت كل كم كما كيف لا لأن لدى لقد لكن لم لماذا لن له لها لهم ليس ليست ما ماذا متى مثل "
    "مع من منذ منها منه هذا هذه هل هم هنا هناك هو هي و وأن وقد وكان ولا ولم وما ومن وهو وهي يتم يكون يمكن",
    "hi": "अपना अपनी अपने अब आप इन इनका इनके इस इसका इसकी इसके इसे उन उनका उनकी उनके उन्हें उन्होंने उस उसका उसकी उसके "
    "उसने उसे एक और कब कर करता करते करना करने करें कहाँ कहां का कि कितना कितनी कितने किन किया किस किसका किसकी किसके "
    "किसने किसी किसे की कुछ के कैसा कैसी कैसे को कोई कौन क्या क्यों गई गए गया गये जब जहाँ जा जाता जाती जाते जाना जाने "
    "जिन जिस जिसका जिसकी जिसके जिसने जिसे जो तक तब तरह तो था थी थे दिया द्वारा नहीं ने पर भी में मैं यदि यह या ये रहा "
    "रही रहे लिए लिये वह वहाँ वाला वाली वाले वे सकता सकती सकते सब साथ सी से हम ही हुआ हुई हुए है हैं हो होता होती होते "
    "होना होने था",
    "zh": "什么 什麼 怎么 怎麼 怎样 怎樣 如何 哪些 哪个 哪個 哪里 哪裡 哪儿 哪一 多少 几个 幾個 为什么 為什麼 为何 為何 是否 "
    "何时 何時 何地 谁 誰 吗 嗎 呢 的 了 是 在 和 与 與 及 或 被 把 对 對 从 從 由 于 於 以 之 其 这 這 那 哪 些 个 個 有 也 都 就 "
    "而 并 並 到 为 為 等 中 请 請 问 問",
    "ja": "ですか ますか でしょうか ました ません です ます でした どのように どのような なぜ いつ どこ だれ 誰 何 どの どれ いくつ "
    "いくら とは から まで より など について による によって における において される された して した する ある いる この その あの の は "
    "が を に で と も へ や か",
    "th": "อะไร อย่างไร ทำไม เมื่อไหร่ เมื่อไร เมื่อใด ที่ไหน ใคร เท่าไหร่ เท่าไร เท่าใด กี่ ใด ไหน บ้าง หรือไม่ หรือ และ ของ ใน ที่ เป็น "
    "คือ ได้ มี จาก โดย ให้ กับ ว่า ซึ่ง การ ความ ถูก จะ ไม่ นี้ นั้น แต่ เพื่อ เพราะ กว่า มาก ขึ้น ไป มา",
}  # fmt: skip


@lru_cache(maxsize=64)
def stop_words(language: str | None) -> frozenset[str]:
    """Return the function words of a language (case-folded), empty where there is no list.

    Args:
        language: ISO 639-1, with or without a region (``zh-TW``); None where it is not known.
    """
    return frozenset(_WORDS.get((language or "").split("-")[0], "").casefold().split())
