"""Hand-made phrases and what they mean, said on Friday 9 June 2023, 19:30, at UTC+2.

A line: phrase | first day or time | first one after it | precision. An empty end is one day, hour or minute later.
"""

MEANT = """
8 May 2023 | 2023-05-08 | | day
8th May 2023 | 2023-05-08 | | day
8th of May, 2023 | 2023-05-08 | | day
the 8th of May 2023 | 2023-05-08 | | day
May 8, 2023 | 2023-05-08 | | day
May 8th, 2023 | 2023-05-08 | | day
May 8th | 2023-05-08 | | day
Monday, 8 May 2023 | 2023-05-08 | | day
Mon, 8 May 2023 | 2023-05-08 | | day
8 Sept 2022 | 2022-09-08 | | day
Dec. 24, 2022 | 2022-12-24 | | day
8-May-2023 | 2023-05-08 | | day
2023-05-08 | 2023-05-08 | | day
2023/05/08 | 2023-05-08 | | day
5/8/2023 | 2023-05-08 | | day
25/12/2022 | 2022-12-25 | | day
8.5.2023 | 2023-05-08 | | day
05/08/23 | 2023-05-08 | | day
2023-05-08T14:05:33Z | 2023-05-08 16:05 | | minute
2023-05-08T14:05:33.123456+00:00 | 2023-05-08 16:05 | | minute
2023-05-08T14:05+0530 | 2023-05-08 10:35 | | minute
2023-05-08 14:05 | 2023-05-08 14:05 | | minute
at 14:05 | 2023-06-09 14:05 | | minute
14:05:59 | 2023-06-09 14:05 | | minute
at 2:05 pm | 2023-06-09 14:05 | | minute
at 12:30 a.m. | 2023-06-09 00:30 | | minute
at 5pm | 2023-06-09 17:00 | | hour
at noon | 2023-06-09 12:00 | | hour
8 May 2023 at 2:05 pm | 2023-05-08 14:05 | | minute
1:56 pm on 8 May, 2023 | 2023-05-08 13:56 | | minute
yesterday at 14:05 | 2023-06-08 14:05 | | minute
14:05 yesterday | 2023-06-08 14:05 | | minute
between 14:00 and 15:30 yesterday | 2023-06-08 14:00 | 2023-06-08 15:31 | minute
from 9 am to 5 pm on Thursday | 2023-06-08 09:00 | 2023-06-08 18:00 | hour
in May 2023 | 2023-05-01 | 2023-06-01 | month
May 2023 | 2023-05-01 | 2023-06-01 | month
may 2023 | 2023-05-01 | 2023-06-01 | month
2023-05 | 2023-05-01 | 2023-06-01 | month
in March | 2023-03-01 | 2023-04-01 | month
in October | 2022-10-01 | 2022-11-01 | month
we will move in October | 2023-10-01 | 2023-11-01 | month
last March | 2023-03-01 | 2023-04-01 | month
last October | 2022-10-01 | 2022-11-01 | month
next March | 2024-03-01 | 2024-04-01 | month
this July | 2023-07-01 | 2023-08-01 | month
summer 2022 | 2022-06-01 | 2022-09-01 | season
the summer of 2022 | 2022-06-01 | 2022-09-01 | season
winter 2022 | 2022-12-01 | 2023-03-01 | season
last summer | 2022-06-01 | 2022-09-01 | season
last winter | 2022-12-01 | 2023-03-01 | season
this summer | 2023-06-01 | 2023-09-01 | season
next fall | 2023-09-01 | 2023-12-01 | season
two summers ago | 2021-06-01 | 2021-09-01 | season
over the winter | 2022-12-01 | 2023-03-01 | season
in 2021 | 2021-01-01 | 2022-01-01 | year
back in 2019 | 2019-01-01 | 2020-01-01 | year
the 1990s | 1990-01-01 | 2000-01-01 | decade
the nineties | 1990-01-01 | 2000-01-01 | decade
the '80s | 1980-01-01 | 1990-01-01 | decade
a decade ago | 2013-01-01 | 2014-01-01 | year
yesterday | 2023-06-08 | | day
Yesterday morning | 2023-06-08 05:00 | 2023-06-08 12:00 | day
today | 2023-06-09 | | day
tomorrow | 2023-06-10 | | day
tomorrow night | 2023-06-10 18:00 | 2023-06-11 00:00 | day
tonight | 2023-06-09 18:00 | 2023-06-10 00:00 | day
last night | 2023-06-08 18:00 | 2023-06-09 00:00 | day
this morning | 2023-06-09 05:00 | 2023-06-09 12:00 | day
this afternoon | 2023-06-09 12:00 | 2023-06-09 18:00 | day
the day before yesterday | 2023-06-07 | | day
the day after tomorrow | 2023-06-11 | | day
last Tuesday | 2023-06-06 | | day
last Friday | 2023-06-02 | | day
this Friday | 2023-06-09 | | day
this Sunday | 2023-06-11 | | day
next Friday | 2023-06-16 | | day
next Monday | 2023-06-12 | | day
this coming Tuesday | 2023-06-13 | | day
this past Sunday | 2023-06-04 | | day
I saw her on Wednesday | 2023-06-07 | | day
I will see her on Wednesday | 2023-06-14 | | day
let's meet Sunday | 2023-06-11 | | day
Tuesday evening | 2023-06-06 17:00 | 2023-06-07 00:00 | day
last week | 2023-05-29 | 2023-06-05 | week
this week | 2023-06-05 | 2023-06-12 | week
next week | 2023-06-12 | 2023-06-19 | week
last month | 2023-05-01 | 2023-06-01 | month
this month | 2023-06-01 | 2023-07-01 | month
next month | 2023-07-01 | 2023-08-01 | month
last year | 2022-01-01 | 2023-01-01 | year
next year | 2024-01-01 | 2025-01-01 | year
plans for the weekend | 2023-06-10 | 2023-06-12 | day
last weekend | 2023-06-03 | 2023-06-05 | day
this weekend | 2023-06-10 | 2023-06-12 | day
next weekend | 2023-06-17 | 2023-06-19 | day
this past weekend | 2023-06-03 | 2023-06-05 | day
over the weekend | 2023-06-03 | 2023-06-05 | day
the weekend after. | 2023-06-17 | 2023-06-19 | day
the week before last | 2023-05-22 | 2023-05-29 | week
the month after next | 2023-08-01 | 2023-09-01 | month
earlier this week | 2023-06-05 | 2023-06-09 19:30 | week
later this year | 2023-06-09 19:30 | 2024-01-01 | year
10 minutes ago | 2023-06-09 19:20 | | minute
half an hour ago | 2023-06-09 19:00 | | minute
2 hours ago | 2023-06-09 17:00 | | hour
three days ago | 2023-06-06 | | day
two weeks ago | 2023-05-23 | 2023-05-30 | week
about two weeks ago | 2023-05-23 | 2023-05-30 | week
two weekends ago | 2023-05-27 | 2023-05-29 | day
a month ago | 2023-05-01 | 2023-06-01 | month
two months back | 2023-04-01 | 2023-05-01 | month
4 years ago | 2019-01-01 | 2020-01-01 | year
a year ago | 2022-01-01 | 2023-01-01 | year
a few days ago | 2023-06-04 | 2023-06-08 | week
a couple of days ago | 2023-06-06 | 2023-06-08 | week
a few weeks ago | 2023-05-02 | 2023-05-30 | month
few months ago | 2023-01-01 | 2023-05-01 | season
several years ago | 2016-01-01 | 2021-01-01 | year
the other day | 2023-06-02 | 2023-06-09 | week
in two weeks | 2023-06-20 | 2023-06-27 | week
in 3 days | 2023-06-12 | | day
two months from now | 2023-08-01 | 2023-09-01 | month
the week before 9 June 2023 | 2023-06-02 | 2023-06-09 | week
the week after 9 June 2023 | 2023-06-10 | 2023-06-17 | week
the week of 7 June 2023 | 2023-06-05 | 2023-06-12 | week
the Sunday before 25 May 2023 | 2023-05-21 | | day
the Friday after 25 May 2023 | 2023-05-26 | | day
the weekend of 15 July 2023 | 2023-07-15 | 2023-07-17 | day
the weekend before 17 July 2023 | 2023-07-15 | 2023-07-17 | day
two weekends before 17 July 2023 | 2023-07-08 | 2023-07-10 | day
two days before 25 May 2023 | 2023-05-23 | | day
three days after 8 May 2023 | 2023-05-11 | | day
the day after Christmas Day 2022 | 2022-12-26 | | day
the month before May 2023 | 2023-04-01 | 2023-05-01 | month
end of last month | 2023-05-21 | 2023-06-01 | week
at the end of May 2023 | 2023-05-21 | 2023-06-01 | week
early June 2023 | 2023-06-01 | 2023-06-11 | week
mid-May 2023 | 2023-05-11 | 2023-05-21 | week
the beginning of last month | 2023-05-01 | 2023-05-11 | week
late 2022 | 2022-08-31 | 2023-01-01 | season
since March | 2023-03-01 | 2023-06-10 | month
ever since 2019 | 2019-01-01 | 2023-06-10 | year
between May and July 2023 | 2023-05-01 | 2023-08-01 | month
between November and January 2023 | 2022-11-01 | 2023-02-01 | month
from March 2022 to May 2023 | 2022-03-01 | 2023-06-01 | month
from 2019 to 2021 | 2019-01-01 | 2022-01-01 | year
from 3 to 5 June | 2023-06-03 | 2023-06-06 | day
between 10 and 12 May 2023 | 2023-05-10 | 2023-05-13 | day
May 10-12, 2023 | 2023-05-10 | 2023-05-13 | day
from 8 May 2023 to 3 June 2023 | 2023-05-08 | 2023-06-04 | day
2023-05-08 to 2023-05-10 | 2023-05-08 | 2023-05-11 | day
from Monday to Wednesday | 2023-06-05 | 2023-06-08 | day
in the last 3 days | 2023-06-06 19:30 | 2023-06-09 19:30 | day
over the past two weeks | 2023-05-26 19:30 | 2023-06-09 19:30 | week
in the past year | 2022-06-09 19:30 | 2023-06-09 19:30 | year
over the next 2 days | 2023-06-09 19:30 | 2023-06-11 19:30 | day
last Christmas | 2022-12-25 | | day
Christmas Eve 2022 | 2022-12-24 | | day
the first week of June 2023 | 2023-06-01 | 2023-06-08 | week
the last week of May 2023 | 2023-05-25 | 2023-06-01 | week
the first weekend of August 2023 | 2023-08-05 | 2023-08-07 | day
the last weekend of May 2023 | 2023-05-27 | 2023-05-29 | day
in the first half of 2022 | 2022-01-01 | 2022-07-02 | year
Q1 2023 | 2023-01-01 | 2023-04-01 | season
three Fridays ago | 2023-05-19 | | day
on the 5th. | 2023-06-05 | | day
on the 20th. | 2023-05-20 | | day
by the end of the month | 2023-06-21 | 2023-07-01 | week
last Monday morning | 2023-06-05 05:00 | 2023-06-05 12:00 | day
within the next hour | 2023-06-09 19:30 | 2023-06-09 20:30 | hour
between 8 May and 3 June 2021 | 2021-05-08 | 2021-06-04 | day
between 8 December and 3 June 2021 | 2020-12-08 | 2021-06-04 | day
next Halloween | 2023-10-31 | | day
8 May 2023 between 9:00 and 10:00 | 2023-05-08 09:00 | 2023-05-08 10:01 | minute
between 9:00 and 10:00 on 8 May 2023 | 2023-05-08 09:00 | 2023-05-08 10:01 | minute
8 May 2023, 9:00-10:00 | 2023-05-08 09:00 | 2023-05-08 10:01 | minute
2023-05-08 from 9:00 to 10:00 | 2023-05-08 09:00 | 2023-05-08 10:01 | minute
from 9 to 11 am on 8 May 2023 | 2023-05-08 09:00 | 2023-05-08 11:01 | hour
from 2 to 4 pm on 8 May 2023 | 2023-05-08 14:00 | 2023-05-08 16:01 | hour
from 11 to 2 pm yesterday | 2023-06-08 11:00 | 2023-06-08 14:01 | hour
yesterday between 9 and 10 | 2023-06-08 09:00 | 2023-06-08 10:01 | hour
yesterday from 9 to 5 | 2023-06-08 09:00 | 2023-06-08 17:01 | hour
yesterday from 9-11am | 2023-06-08 09:00 | 2023-06-08 11:01 | hour
between 22:00 and 02:00 on 8 May 2023 | 2023-05-08 22:00 | 2023-05-09 02:01 | minute
from noon to midnight on 8 May 2023 | 2023-05-08 12:00 | 2023-05-09 00:01 | hour
last night between 1:00 and 2:00 | 2023-06-09 01:00 | 2023-06-09 02:01 | minute
last night after midnight | 2023-06-09 00:00 | 2023-06-09 06:00 | hour
yesterday after 14:00 | 2023-06-08 14:00 | 2023-06-09 00:00 | minute
yesterday before noon | 2023-06-08 00:00 | 2023-06-08 12:00 | hour
at 15:06 UTC | 2023-06-09 17:06 | | minute
at 23:30 UTC on 8 May 2023 | 2023-05-09 01:30 | | minute
from 9:00 to 10:00 UTC on 8 May 2023 | 2023-05-08 11:00 | 2023-05-08 12:01 | minute
release calendar for Friday | 2023-06-09 | | day
finish it by Friday | 2023-06-09 | | day
the freeze lasts until Friday | 2023-06-09 | | day
the ticket is for Monday | 2023-06-12 | | day
Next release is on Monday | 2023-06-12 | | day
I saw her on Friday | 2023-06-02 | | day
on Wednesday we will go live | 2023-06-14 | | day
on Wednesday I am going on a picnic | 2023-06-14 | | day
by Wednesday it was fixed | 2023-06-07 | | day
she waited until Wednesday | 2023-06-07 | | day
four tickets carried over from Monday | 2023-06-05 | | day
reviewed by Ana on Monday | 2023-06-05 | | day
from Thursday to Sunday night | 2023-06-08 | 2023-06-12 00:00 | day
it was down from Thursday to Sunday | 2023-06-01 | 2023-06-05 | day
it was down from Friday to Monday | 2023-06-02 | 2023-06-06 | day
we will freeze from Monday to Wednesday | 2023-06-12 | 2023-06-15 | day
"""

NOT_MEANT = """
We may march on in the spring of our lives, second to none under the sun
You may 10 times think of it, and march 5 miles
The Sun is out and the Mon prefix of the Sat solver works
June said hi to April and August, then May left
I will see it in a second or in a moment
Every Friday we meet and Mondays are hard
v2.14.3 of payments-service at 10.0.0.1:8080 took 2000 ms
error 500 after 2000 requests, 3/4 done, 24/7 support, 1st place
INC-2023-05-08-001 and payments-2023-05 are ids
I fall often; spring cleaning is winter proof
99/99/2023 and 31/31/2023 and 2023-02-30
we have not talked in a few days, the first time in two weeks
I love Christmas and a fall of 2000 metres
this is the last time, next to the past tense, this may be it
ten days of rain, three weeks of work, a week off
the daily run, the nightly build, the weekly report
the first week of the camp, the end of the world, on the 5th floor
It was the best year of my week and a good day
on Thursdays at 02:00 the sync runs, and it runs on Sundays at 03:00
the backup runs at 02:00 every night, nightly at 02:00, or daily at 9
each weekday, every single Friday, every other Tuesday, most Fridays, any Monday
every Friday at 17:00 we meet; every Friday we meet at 17:00; we meet at 17:00 each Friday
on Friday mornings, and on Tuesday and Thursday evenings
every Monday and Wednesday, on Mondays, Wednesdays and Fridays at 9:00
weekly on Monday at 10:00, every week on Thursday, the weekly Tuesday call
on the first Monday of each month, each month on the 5th., every year in March
twice a day at 9:00 and 17:00; always on Sunday; usually on Tuesday at 5pm
Monday to Friday, Monday through Friday from 9 to 5
only after midnight, before noon, until midnight
on Friday
Friday morning
It will be on her table on Friday
the count was between 9 and 10 in the end
""".strip().splitlines()
