-- As history_all, of 5 a user name
.as history_all WHERE user = ?5
